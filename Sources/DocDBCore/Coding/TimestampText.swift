/// Times as text: RFC 3339 in UTC with nine fractional digits, so that the order of texts is the order of times.
package enum TimestampText {
    /// The seconds since 1970 of the first and last second that the text can hold: years 0 to 9999.
    package static let secondsRange: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    /// The text of a time, 30 characters long, or nil where its year does not have four digits.
    package static func text(secondsSince1970 seconds: Int64, nanoseconds: Int) -> String? {
        guard secondsRange.contains(seconds), (0..<1_000_000_000).contains(nanoseconds) else { return nil }
        let (day, second) = floorDivide(seconds, by: 86_400)
        let date = civil(fromDays: day)
        return String(unsafeUninitializedCapacity: 30) { buffer in
            var position = 0
            func put(_ value: Int64, _ digitCount: Int, then separator: Unicode.Scalar) {
                var rest = value
                for place in stride(from: position + digitCount - 1, through: position, by: -1) {
                    buffer[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                    rest /= 10
                }
                buffer[position + digitCount] = UInt8(ascii: separator)
                position += digitCount + 1
            }
            put(date.year, 4, then: "-")
            put(date.month, 2, then: "-")
            put(date.day, 2, then: "T")
            put(second / 3600, 2, then: ":")
            put(second / 60 % 60, 2, then: ":")
            put(second % 60, 2, then: ".")
            put(Int64(nanoseconds), 9, then: "Z")
            return position
        }
    }

    /// The time of an RFC 3339 text with any offset and any number of fractional digits, of which nine count.
    package static func parse(_ text: String) -> (secondsSince1970: Int64, nanoseconds: Int)? {
        var reader = Reader(bytes: Array(text.utf8.prefix(64)))
        guard text.utf8.count <= 64, let year = reader.number(4), reader.take("-"), let month = reader.number(2),
            reader.take("-"), let day = reader.number(2), reader.take("T") || reader.take("t") || reader.take(" "),
            let hour = reader.number(2), reader.take(":"), let minute = reader.number(2), reader.take(":"),
            let second = reader.number(2), hour < 24, minute < 60, second < 61, (1...12).contains(month),
            (1...dayCount(year, month)).contains(day), let nanoseconds = reader.fraction(),
            let offset = reader.zone(), reader.isAtEnd
        else { return nil }
        let days = days(fromYear: year, month: month, day: day)
        return (days * 86_400 + hour * 3600 + minute * 60 + second - offset, nanoseconds)
    }

    private struct Reader {
        let bytes: [UInt8]
        var offset = 0

        var isAtEnd: Bool { offset == bytes.count }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard offset < bytes.count, bytes[offset] == UInt8(ascii: character) else { return false }
            offset += 1
            return true
        }

        mutating func digit() -> Int64? {
            guard offset < bytes.count, case let digit = bytes[offset] &- UInt8(ascii: "0"), digit < 10 else {
                return nil
            }
            offset += 1
            return Int64(digit)
        }

        mutating func number(_ digitCount: Int) -> Int64? {
            var value: Int64 = 0
            for _ in 0..<digitCount {
                guard let digit = digit() else { return nil }
                value = value * 10 + digit
            }
            return value
        }

        mutating func fraction() -> Int? {
            guard take(".") else { return 0 }
            guard var value = digit() else { return nil }
            var digitCount = 1
            while let digit = digit() {
                if digitCount < 9 { value = value * 10 + digit; digitCount += 1 }
            }
            while digitCount < 9 { value *= 10; digitCount += 1 }
            return Int(value)
        }

        mutating func zone() -> Int64? {
            if take("Z") || take("z") { return 0 }
            let isNegative = take("-")
            guard isNegative || take("+"), let hours = number(2), take(":"), let minutes = number(2), hours < 24,
                minutes < 60
            else { return nil }
            return (hours * 3600 + minutes * 60) * (isNegative ? -1 : 1)
        }
    }

    private static func floorDivide(_ value: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let remainder = ((value % divisor) + divisor) % divisor
        return ((value - remainder) / divisor, remainder)
    }

    private static func dayCount(_ year: Int64, _ month: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // Days are counted in years that begin in March, so that the leap day comes last, and in eras of 400 years, which
    // all have 146,097 days. Source: Hinnant, "chrono-Compatible Low-Level Date Algorithms" (2013).

    private static func days(fromYear year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let (era, yearOfEra) = floorDivide(marchYear, by: 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = floorDivide(days + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}
