"""Programs that read the files of strangers and can do nothing else; `running` starts them."""
