"""The connector `connector.webhook.deliver`."""
