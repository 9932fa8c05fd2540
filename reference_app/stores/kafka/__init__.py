"""The quick way to the workers, over Kafka."""
