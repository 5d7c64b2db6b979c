import DocDB
