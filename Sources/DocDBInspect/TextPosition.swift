/// A place in a text: line and column, both from 1; columns count Unicode scalars, as editors do.
package struct TextPosition: Hashable, Sendable, CustomStringConvertible {
    package var line: Int
    package var column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    package static let start = TextPosition(line: 1, column: 1)

    package var description: String { "line \(line), column \(column)" }

    /// The place `relative` to a text that begins here.
    package func advanced(by relative: TextPosition) -> TextPosition {
        relative.line == 1
            ? TextPosition(line: line, column: column + relative.column - 1)
            : TextPosition(line: line + relative.line - 1, column: relative.column)
    }

    /// The place behind these bytes, which begin here. Takes O(bytes), several GB a second.
    package func advanced(over bytes: UnsafeRawBufferPointer) -> TextPosition {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return self }
        var lineStart = bytes.count
        while lineStart > 0, base.load(fromByteOffset: lineStart - 1, as: UInt8.self) != Self.newline { lineStart -= 1 }
        var scalars = 0
        for index in lineStart..<bytes.count where base.load(fromByteOffset: index, as: UInt8.self) & 0xC0 != 0x80 {
            scalars &+= 1
        }
        if lineStart == 0 { return TextPosition(line: line, column: column + scalars) }
        var newlines = 0
        for index in 0..<lineStart where base.load(fromByteOffset: index, as: UInt8.self) == Self.newline {
            newlines &+= 1
        }
        return TextPosition(line: line + newlines, column: 1 + scalars)
    }

    private static let newline = UInt8(ascii: "\n")
}
