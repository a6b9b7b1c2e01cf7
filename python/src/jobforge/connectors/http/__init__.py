"""The connector `connector.http.request`."""
