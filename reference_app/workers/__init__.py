"""What runs behind the API: fan-out, likes, and upkeep."""
