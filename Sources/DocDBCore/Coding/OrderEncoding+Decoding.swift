extension OrderEncoding {
    /// What one component of an encoded key says.
    package enum Component: Equatable {
        /// The field is not there.
        case missing
        /// A value; a whole number within range is an integer, whatever it was stored as.
        case value(Value)
    }

    /// Reads one component and moves past it.
    ///
    /// - Throws: where the bytes are no such encoding.
    package static func decode(_ cursor: inout ByteCursor, descending: Bool) throws(CBORError) -> Component {
        var reader = Reader(cursor: cursor, mask: descending ? 0xFF : 0)
        let tag = try reader.next()
        let component: Component =
            tag == Tag.missing ? .missing : .value(try reader.value(tag, depth: 0, hasLongEnd: descending))
        cursor = reader.cursor
        return component
    }

    private struct Reader {
        var cursor: ByteCursor
        /// What each byte is combined with by exclusive or: all ones in a descending component.
        let mask: UInt8

        mutating func next() throws(CBORError) -> UInt8 { try cursor.readByte() ^ mask }

        mutating func value(_ tag: UInt8, depth: Int, hasLongEnd: Bool) throws(CBORError) -> Value {
            switch tag {
            case Tag.null: return .null
            case Tag.false: return .bool(false)
            case Tag.true: return .bool(true)
            case Tag.number: return try number()
            case Tag.string:
                let text = try content(hasLongEnd: hasLongEnd)
                guard text.withUnsafeBytes({ UTF8Validation.isValid($0) }) else { throw .malformed }
                return .string(String(decoding: text, as: UTF8.self))
            case Tag.bytes: return .bytes(try content(hasLongEnd: hasLongEnd))
            case Tag.array:
                guard depth < Limits.nestingDepth else { throw .tooDeep }
                var elements: [Value] = []
                while case let tag = try next(), tag != endMark {
                    elements.append(try value(tag, depth: depth + 1, hasLongEnd: false))
                }
                return .array(elements)
            case Tag.object:
                guard depth < Limits.nestingDepth else { throw .tooDeep }
                var members: [String: Value] = [:]
                while case let tag = try next(), tag != endMark {
                    guard case .string(let name) = try value(tag, depth: depth + 1, hasLongEnd: false) else {
                        throw .malformed
                    }
                    members[name] = try value(try next(), depth: depth + 1, hasLongEnd: false)
                }
                return .object(members)
            default: throw .malformed
            }
        }

        private mutating func number() throws(CBORError) -> Value {
            let repeated = UInt64(mask) &* 0x0101_0101_0101_0101
            let encoded = try cursor.readBigEndian(as: UInt64.self) ^ repeated
            let value = Double(bitPattern: encoded >> 63 == 1 ? encoded & ~(1 << 63) : ~encoded)
            guard value.isFinite else { throw .malformed }
            guard value.magnitude >= residualThreshold else {
                return Int64(exactly: value).map(Value.int) ?? .float(value)
            }
            let biased = try cursor.readBigEndian(as: UInt16.self) ^ UInt16(truncatingIfNeeded: repeated)
            let residual = Int64(biased) - Int64(residualBias)
            if let whole = Int64(exactly: value) {
                let (sum, overflow) = whole.addingReportingOverflow(residual)
                guard !overflow else { throw .malformed }
                return .int(sum)
            }
            if residual == 0 { return .float(value) }
            guard value == 0x1p63, residual < 0 else { throw .malformed }
            return .int(Int64.max + (residual + 1))
        }

        private mutating func content(hasLongEnd: Bool) throws(CBORError) -> [UInt8] {
            var content: [UInt8] = []
            while true {
                let byte = try next()
                if byte != 0 { content.append(byte); continue }
                var ahead = self
                guard !ahead.cursor.isAtEnd, try ahead.next() == escape else {
                    if hasLongEnd, try next() != 0 { throw .malformed }
                    return content
                }
                self = ahead
                content.append(0)
            }
        }
    }
}
