"""What the app does with its rules and its stores, whoever asks: a request, a worker, the sweeper."""
