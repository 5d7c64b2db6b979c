/// The powers of ten that a double holds exactly.
private let exactPowersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
    1e20, 1e21, 1e22,
]

/// The digits of a number read so far: a value, and how many places its decimal point is to be moved.
private struct Decimal {
    var digits: UInt64 = 0
    var digitCount = 0
    var exponent = 0
    /// Whether there were more digits than fit.
    var isInexact = false

    @inline(__always)
    mutating func append(_ digit: UInt8, isFraction: Bool) {
        if digitCount < 19 {
            digits = digits &* 10 &+ UInt64(digit)
            if digits != 0 { digitCount += 1 }
            if isFraction { exponent -= 1 }
        } else {
            if digit != 0 { isInexact = true }
            if !isFraction { exponent += 1 }
        }
    }
}

extension JSONTranscoder {
    @inline(__always)
    private func digit(_ pointer: UnsafeRawPointer) -> UInt8? {
        guard pointer < end else { return nil }
        let value = pointer.load(as: UInt8.self) &- UInt8(ascii: "0")
        return value < 10 ? value : nil
    }

    /// Reads a number: an integer where it has neither fraction nor exponent, else a float.
    @inline(__always)
    mutating func number() throws(JSONFailure) {
        let begin = position
        var next = begin
        let isNegative = next.load(as: UInt8.self) == UInt8(ascii: "-")
        if isNegative { next += 1 }
        guard let first = digit(next) else { position = next; throw .noDigit }
        next += 1
        var digits = UInt64(first)
        if first == 0 {
            if digit(next) != nil { throw .leadingZero }
        } else {
            let limit = next + 18
            while next < limit, let digit = digit(next) {
                digits = digits &* 10 &+ UInt64(digit)
                next += 1
            }
        }
        if next < end {
            let byte = next.load(as: UInt8.self)
            if byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e") || byte &- UInt8(ascii: "0") < 10 {
                return try longNumber(begin, isNegative: isNegative)
            }
        }
        position = next
        try putInteger(digits, isNegative: isNegative, from: begin)
    }

    @inline(__always)
    private mutating func putInteger(
        _ magnitude: UInt64, isNegative: Bool, from begin: UnsafeRawPointer
    ) throws(JSONFailure) {
        let largest = UInt64(Int64.max)
        if isNegative, magnitude > 0 {
            guard magnitude <= largest + 1 else { position = begin; throw .integerOutOfRange }
            putHead(major: CBOR.Major.negative, magnitude - 1)
        } else {
            guard magnitude <= largest else { position = begin; throw .integerOutOfRange }
            putHead(major: CBOR.Major.unsigned, magnitude)
        }
    }

    /// Reads a number with a fraction, an exponent or more than 19 digits.
    @inline(never)
    private mutating func longNumber(_ begin: UnsafeRawPointer, isNegative: Bool) throws(JSONFailure) {
        var decimal = Decimal()
        var next = begin + (isNegative ? 1 : 0)
        while let digit = digit(next) { decimal.append(digit, isFraction: false); next += 1 }
        let integerEnd = next
        if next < end, next.load(as: UInt8.self) == UInt8(ascii: ".") {
            next += 1
            guard digit(next) != nil else { position = next; throw .noDigit }
            while let digit = digit(next) { decimal.append(digit, isFraction: true); next += 1 }
        }
        if next < end, next.load(as: UInt8.self) | 0x20 == UInt8(ascii: "e") {
            next += 1
            var isExponentNegative = false
            if next < end,
                next.load(as: UInt8.self) == UInt8(ascii: "-") || next.load(as: UInt8.self) == UInt8(ascii: "+")
            {
                isExponentNegative = next.load(as: UInt8.self) == UInt8(ascii: "-")
                next += 1
            }
            guard digit(next) != nil else { position = next; throw .noDigit }
            var exponent = 0
            while let digit = digit(next) {
                exponent = min(exponent * 10 + Int(digit), 1_000_000_000)
                next += 1
            }
            decimal.exponent += isExponentNegative ? -exponent : exponent
        }
        guard next > integerEnd else { position = begin; throw .integerOutOfRange }
        position = next
        try putFloat(decimal, isNegative: isNegative, from: begin)
    }

    /// Appends the double nearest to a decimal number.
    ///
    /// Up to 53 bits of digits times or over an exact power of ten round once, hence correctly (Clinger, "How to Read
    /// Floating Point Numbers Accurately", 1990); the standard library reads the others.
    private mutating func putFloat(
        _ decimal: Decimal, isNegative: Bool, from begin: UnsafeRawPointer
    ) throws(JSONFailure) {
        var value: Double
        if !decimal.isInexact, decimal.digits <= 1 << 53, abs(decimal.exponent) <= 22 {
            let digits = Double(decimal.digits)
            let power = exactPowersOfTen[abs(decimal.exponent)]
            value = decimal.exponent < 0 ? digits / power : digits * power
            if isNegative { value = -value }
        } else {
            let text = UnsafeRawBufferPointer(start: begin, count: position - begin)
            guard let parsed = Double(String(decoding: text, as: UTF8.self)) else { position = begin; throw .noValue }
            value = parsed
        }
        guard value.isFinite else { position = begin; throw .floatOutOfRange }
        output += CBOR.storeFloat(at: output, value)
    }
}

extension CBOR {
    /// Stores a finite double in its shortest form and returns the number of bytes; there must be room for nine.
    static func storeFloat(at pointer: UnsafeMutableRawPointer, _ value: Double) -> Int {
        let single = Float(value)
        guard Double(single).bitPattern == value.bitPattern else {
            pointer.storeBytes(of: doubleByte, as: UInt8.self)
            pointer.storeBytes(of: value.bitPattern.bigEndian, toByteOffset: 1, as: UInt64.self)
            return 9
        }
        if let half = HalfFloat.bits(exactly: single) {
            pointer.storeBytes(of: halfByte, as: UInt8.self)
            pointer.storeBytes(of: half.bigEndian, toByteOffset: 1, as: UInt16.self)
            return 3
        }
        pointer.storeBytes(of: singleByte, as: UInt8.self)
        pointer.storeBytes(of: single.bitPattern.bigEndian, toByteOffset: 1, as: UInt32.self)
        return 5
    }
}
