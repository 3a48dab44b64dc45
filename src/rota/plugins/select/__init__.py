"""Node selection plugins that come with rota."""
