import Foundation

/// A value of CBOR (RFC 8949) or JSON, read with none of the code under test.
indirect enum DataItem: Equatable {
    case unsigned(UInt64)
    /// -1 minus the number.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([DataItem])
    case map([Member])
    case tag(UInt64, DataItem)
    case bool(Bool)
    case null
    case float(Double)

    struct Member: Equatable {
        var key: DataItem
        var value: DataItem
    }

    struct Failure: Error {
        var reason: String
    }

    /// Reads bytes that hold one value in deterministic encoding, and nothing else.
    init(cbor bytes: [UInt8]) throws {
        var reader = Reader(bytes: bytes)
        self = try reader.item()
        guard reader.offset == bytes.count else { throw Failure(reason: "bytes follow the value") }
    }

    /// Reads JSON with Foundation's reader.
    init(json bytes: [UInt8]) throws {
        self = try DataItem(
            foundation: JSONSerialization.jsonObject(with: Data(bytes), options: [.fragmentsAllowed]))
    }

    private init(foundation object: Any) throws {
        switch object {
        case is NSNull: self = .null
        case let text as String: self = .text(text)
        case let number as NSNumber: self = Self.number(number)
        case let elements as [Any]: self = .array(try elements.map { try DataItem(foundation: $0) })
        case let members as [String: Any]:
            self = .map(
                try members.sorted { $0.key < $1.key }.map {
                    Member(key: .text($0.key), value: try DataItem(foundation: $0.value))
                })
        default: throw Failure(reason: "an unknown kind of JSON value")
        }
    }

    private static func number(_ number: NSNumber) -> DataItem {
        if CFNumberIsBool(number) { return .bool(number.boolValue) }
        guard let integer = Int64(exactly: number.doubleValue), number.stringValue.allSatisfy({ $0 != "." }) else {
            return .float(number.doubleValue)
        }
        _ = integer
        let value = number.int64Value
        return value < 0 ? .negative(UInt64(-1 - value)) : .unsigned(UInt64(value))
    }

    /// Foundation keeps truth values as numbers whose type is a character's.
    private static func CFNumberIsBool(_ number: NSNumber) -> Bool { String(cString: number.objCType) == "c" }

    /// The member of a map under a text.
    subscript(name: String) -> DataItem? {
        guard case .map(let members) = self else { return nil }
        return members.first { $0.key == .text(name) }?.value
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }
}

extension DataItem {
    private struct Reader {
        let bytes: [UInt8]
        var offset = 0

        mutating func item(depth: Int = 0) throws -> DataItem {
            guard depth < 80 else { throw Failure(reason: "nested too deeply") }
            let first = try byte()
            let (major, short) = (first >> 5, first & 31)
            if major == 7 { return try simple(short) }
            let argument = try argument(short)
            switch major {
            case 0: return .unsigned(argument)
            case 1: return .negative(argument)
            case 2: return .bytes(try take(argument))
            case 3:
                guard let text = String(validating: try take(argument), as: UTF8.self) else {
                    throw Failure(reason: "a text is no UTF-8")
                }
                return .text(text)
            case 4: return .array(try (0..<argument).map { _ in try item(depth: depth + 1) })
            case 5: return try map(argument, depth)
            default: return .tag(argument, try item(depth: depth + 1))
            }
        }

        private mutating func map(_ count: UInt64, _ depth: Int) throws -> DataItem {
            var members: [Member] = []
            var lastKey: [UInt8]?
            for _ in 0..<count {
                let start = offset
                let key = try item(depth: depth + 1)
                let keyBytes = Array(bytes[start..<offset])
                if let lastKey, !lastKey.lexicographicallyPrecedes(keyBytes) {
                    throw Failure(reason: "keys do not ascend")
                }
                lastKey = keyBytes
                members.append(Member(key: key, value: try item(depth: depth + 1)))
            }
            return .map(members)
        }

        private mutating func simple(_ short: UInt8) throws -> DataItem {
            switch short {
            case 20: return .bool(false)
            case 21: return .bool(true)
            case 22: return .null
            case 25:
                let bits = try number(2)
                return .float(Self.half(UInt16(bits)))
            case 26: return .float(Double(Float(bitPattern: UInt32(try number(4)))))
            case 27: return .float(Double(bitPattern: try number(8)))
            default: throw Failure(reason: "a simple value that is none of ours")
            }
        }

        /// RFC 8949, appendix D.
        private static func half(_ bits: UInt16) -> Double {
            let (exponent, mantissa) = (Int(bits >> 10 & 31), Double(bits & 1023))
            let magnitude =
                switch exponent {
                case 0: mantissa * 0x1p-24
                case 31: mantissa == 0 ? Double.infinity : Double.nan
                default: (mantissa + 1024) * pow(2, Double(exponent - 25))
                }
            return bits & 0x8000 == 0 ? magnitude : -magnitude
        }

        private mutating func argument(_ short: UInt8) throws -> UInt64 {
            switch short {
            case 0...23: return UInt64(short)
            case 24...27:
                let value = try number(1 << (short - 24))
                let least: UInt64 = short == 24 ? 24 : 1 << (UInt64(8) << UInt64(short - 25))
                guard value >= least else { throw Failure(reason: "an argument is longer than it need be") }
                return value
            default: throw Failure(reason: "a length that is not told")
            }
        }

        private mutating func number(_ count: Int) throws -> UInt64 {
            try (0..<count).reduce(0) { value, _ in value << 8 | UInt64(try byte()) }
        }

        private mutating func byte() throws -> UInt8 {
            guard offset < bytes.count else { throw Failure(reason: "the bytes end early") }
            defer { offset += 1 }
            return bytes[offset]
        }

        private mutating func take(_ count: UInt64) throws -> [UInt8] {
            guard count <= UInt64(bytes.count - offset) else { throw Failure(reason: "the bytes end early") }
            defer { offset += Int(count) }
            return Array(bytes[offset..<offset + Int(count)])
        }
    }
}
