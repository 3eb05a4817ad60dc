"""Company websites: read one page, and find out from it what the company does. Everything on a page is hostile text."""
