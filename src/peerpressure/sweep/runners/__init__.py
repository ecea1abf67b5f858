"""Where units are computed: in processes of this machine, or on a Dask cluster."""
