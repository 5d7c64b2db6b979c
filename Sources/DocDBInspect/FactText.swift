package import DocDBCore

/// Times, ids and paths as people read and type them.
package enum FactText {
    /// The wall-clock part of a time in RFC 3339, UTC.
    package static func time(_ time: HybridTime) -> String {
        let nanoseconds = time.nanosecondsSince1970
        return TimestampText.text(
            secondsSince1970: Int64(nanoseconds / 1_000_000_000), nanoseconds: Int(nanoseconds % 1_000_000_000))
            ?? "\(nanoseconds) ns"
    }

    /// An id as `get` takes it: a string as it is where that is unmistakable, anything else as JSON.
    package static func id(_ id: DocumentID) -> String {
        let value = id.value
        if case .string(let text) = value, isUnmistakable(text) { return text }
        return (try? JSONText.text(of: value)).map(TableWriter.printable) ?? "?"
    }

    private static func isUnmistakable(_ text: String) -> Bool {
        guard !text.isEmpty, (try? JSONText.value(of: text)) == nil else { return false }
        return !text.hasPrefix("\"") && !text.utf8.contains(UInt8(ascii: " ")) && TableWriter.printable(text) == text
    }

    /// A path as predicates and indexes take it; the empty one, which fields have none of, in words.
    package static func path(_ path: FieldPath) -> String {
        path.components.isEmpty ? "(whole document)" : TableWriter.printable(path.description)
    }

    private static let valueByteCount = 40

    /// A value as JSON, cut where it is long.
    package static func value(_ value: Value) -> String {
        guard let text = (try? JSONText.text(of: value)).map(TableWriter.printable) else { return "?" }
        return DisplayWidth.truncated(text, to: valueByteCount)
    }
}
