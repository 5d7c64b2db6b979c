// Entries of kinds that this version does not know read as missing; what a permission tests may therefore not be what they hide.
extension DocumentState {
    /// Tells whether an encoded state may hold entries of unknown kinds: without decoding it, and exact where it is false.
    package static func mayHoldUnknowns(_ state: UnsafeRawBufferPointer) -> Bool {
        state.count >= 2 && state[0] == Format.general && state[1] & Format.hasExtras != 0
    }

    /// Tells whether entries of unknown kinds stand in one of some top-level fields, or above them.
    package func hasUnknowns(in fields: [String], names: FieldNames?) -> Bool {
        guard !unknowns.isEmpty else { return false }
        return arena.withUnsafeBytes { arena in
            unknowns.contains { entry in
                var cursor = ByteCursor(arena[entry.path])
                // At the root it may hide anything, and what cannot be read cannot be judged.
                guard let key = try? cursor.readCBORKey(names: names) else { return true }
                return fields.contains { $0.utf8.elementsEqual(key) }
            }
        }
    }
}
