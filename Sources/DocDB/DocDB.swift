// The vocabulary of DocDB (values, ids, paths, times, errors and limits) is public where it is defined; here it becomes
// part of the one module that apps import.
@_exported public import DocDBCore
