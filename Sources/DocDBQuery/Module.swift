import DocDBCore
