print("docdb-inspect")
