"""Company websites: read one page, and derive from it what the company does. Everything on a page is hostile text."""
