/// The patterns of `like`: `%` stands for any text, `_` for any one scalar, a backslash before them for themselves.
enum LikePattern {
    /// The pattern as bytes and `CompiledPattern.anyScalar` and `anyText`; runs of `%` are one.
    static func elements(of pattern: String) -> [UInt16] {
        var elements: [UInt16] = []
        var isEscaped = false
        for byte in pattern.utf8 {
            let isSpecial = byte == UInt8(ascii: "%") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "\\")
            if isEscaped {
                if !isSpecial { elements.append(UInt16(UInt8(ascii: "\\"))) }
                elements.append(UInt16(byte))
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "%") {
                if elements.last != CompiledPattern.anyText { elements.append(CompiledPattern.anyText) }
            } else {
                elements.append(byte == UInt8(ascii: "_") ? CompiledPattern.anyScalar : UInt16(byte))
            }
        }
        if isEscaped { elements.append(UInt16(UInt8(ascii: "\\"))) }
        return elements
    }

    /// The text that the pattern begins with before its first wildcard, and whether it is all of it, or a `%` is all
    /// that follows.
    static func prefix(of pattern: String) -> (prefix: String, isWhole: Bool, isFollowedByAnyTextOnly: Bool) {
        let elements = elements(of: pattern)
        let literal = elements.prefix { $0 < 256 }
        let text = String(decoding: literal.map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
        let rest = elements.dropFirst(literal.count)
        return (text, rest.isEmpty, rest.elementsEqual([CompiledPattern.anyText]))
    }
}
