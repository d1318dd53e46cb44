"""The client's side: sessions on servers, and the masters that these call."""
