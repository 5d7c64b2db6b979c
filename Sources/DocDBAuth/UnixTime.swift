package import DocDBCore

/// A moment in whole seconds since 1970, as tokens and grants state them.
package struct UnixTime: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let seconds: Int64

    package init(seconds: Int64) { self.seconds = seconds }

    /// The second in which a moment lies: with whole seconds as bounds, comparisons with it are exact.
    package init(nanoseconds: UInt64) { seconds = Int64(nanoseconds / 1_000_000_000) }

    /// A `NumericDate` of a token (RFC 7519, section 2), fractions cut off; nil where the value is none, or negative.
    package init?(numericDate value: Value) {
        switch value {
        case .int(let seconds) where seconds >= 0: self.seconds = seconds
        case .float(let seconds) where seconds >= 0: self.seconds = Int64(min(seconds, 0x1p53))
        default: return nil
        }
    }

    /// The moment some seconds later, at most the last one there is.
    package func adding(_ seconds: Int64) -> UnixTime {
        let (sum, isOver) = self.seconds.addingReportingOverflow(seconds)
        return UnixTime(seconds: isOver ? (seconds < 0 ? .min : .max) : sum)
    }

    /// The moment in nanoseconds since 1970, at most the last one there is.
    package var nanoseconds: UInt64 {
        let (product, isOver) = UInt64(max(seconds, 0)).multipliedReportingOverflow(by: 1_000_000_000)
        return isOver ? .max : product
    }

    package static func < (left: UnixTime, right: UnixTime) -> Bool { left.seconds < right.seconds }

    package var description: String { "\(seconds)" }
}
