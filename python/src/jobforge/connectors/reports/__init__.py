"""The connector `connector.report.generate`."""
