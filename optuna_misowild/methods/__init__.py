"""The methods: from observations to the next query, one file each."""
