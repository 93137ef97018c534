"""What trials and models say, as numbers that reports and pictures show."""
