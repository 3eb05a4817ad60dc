"""The public package GEPA as the search of an optimization: it proposes and chooses; the service plays, guards and keeps."""
