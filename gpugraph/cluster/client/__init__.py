"""The client's side: sessions on servers, and links to their masters."""
