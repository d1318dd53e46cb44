"""The client side of a cluster: sessions on servers, and links to their masters."""
