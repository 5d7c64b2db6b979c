extension Value: CustomStringConvertible {
    /// The value as JSON text on one line: names in the order of their UTF-8 bytes, bytes as base64 strings.
    ///
    /// For people and logs; what cannot be stored, such as NaN, makes it a question mark.
    ///
    /// - Complexity: O(size of the value).
    public var description: String {
        var encoded = ByteBuffer()
        var text = ByteBuffer()
        var writer = JSONWriter()
        do {
            try appendCBOR(names: nil, to: &encoded)
            try writer.append(value: encoded.bytes, names: nil, to: &text)
        } catch {
            return "?"
        }
        return String(decoding: text.bytes, as: UTF8.self)
    }
}
