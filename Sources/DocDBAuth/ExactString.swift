/// A text as a key: two texts are one only where their bytes are.
///
/// A plain `String` takes texts that differ in Unicode normalisation for the same: two users could pass for one.
package struct ExactString: Hashable, Comparable, Sendable, ExpressibleByStringLiteral {
    package let text: String

    package init(_ text: String) { self.text = text }
    package init(stringLiteral text: String) { self.text = text }

    package static func == (left: ExactString, right: ExactString) -> Bool { left.text.isExactly(right.text) }

    package static func < (left: ExactString, right: ExactString) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension String {
    /// Tells whether two texts have the same bytes.
    func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    /// The text with ASCII letters in lower case; others as they are.
    var asciiLowercased: String {
        String(decoding: utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
