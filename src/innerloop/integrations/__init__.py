"""Other frameworks, served by innerloop: one file each, imported only where it is used."""
