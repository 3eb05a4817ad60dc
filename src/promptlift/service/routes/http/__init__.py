"""What every request passes through on its way to an action and back."""
