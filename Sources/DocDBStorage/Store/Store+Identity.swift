import DocDBCore

extension Store {
    /// The kind of identity under which the store has replicated; nil where it has not.
    package func identityKind() throws -> String? {
        try readOnce { context throws(DocDBError) in
            try StoreMetadata.bytes(.identityKind, context.connection).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Keeps under which kind of identity the store replicates.
    package func setIdentityKind(_ kind: String) throws {
        let writer = try requireWriter()
        try writer.exclusively {
            try writer.commitDurably { () throws(DocDBError) in
                try StoreMetadata.set(.identityKind, [UInt8](kind.utf8), writer.connection)
            }
        }
    }
}
