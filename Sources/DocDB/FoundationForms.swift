public import DocDBCore

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// Types of DocDB as Foundation and SwiftUI know their like.

extension DocDBError: LocalizedError {
    /// The message, so that `localizedDescription` and alerts of SwiftUI say what happened and what to do about it.
    public var errorDescription: String? { message }
}

extension HybridTime {
    /// The wall-clock part as a date, such as the end of a grant for a view to format.
    public var date: Date { Date(timeIntervalSince1970: Double(nanosecondsSince1970) / 1_000_000_000) }
}
