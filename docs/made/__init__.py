"""Pages that the build makes: of code, schema, bibliography and experiments."""
