import Foundation
import Testing

/// The files of `Schemas`, and the tables and blocks of code in them.
enum SchemaFiles {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func text(_ name: String, in folder: String = "Schemas") throws -> String {
        try String(contentsOf: root.appending(path: "\(folder)/\(name)"), encoding: .utf8)
    }

    /// What stands under a heading of a page, up to the next one of its kind.
    static func section(_ heading: String, of page: String) throws -> String {
        let parts = try text(page).components(separatedBy: "\n## ")
        return try #require(parts.first { $0.hasPrefix(heading + "\n") }, "\(page) has no section '\(heading)'")
    }

    /// The cells of the tables of a text, without their heads; a bar in a cell is written `\|`.
    static func rows(of text: String) -> [[String]] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.indices.filter { lines[$0].hasPrefix("|") && !lines[$0].hasPrefix("|---") }.filter { index in
            // The line above a row of dashes is the head.
            !(lines.indices.contains(index + 1) && lines[index + 1].hasPrefix("|---"))
        }.map { index in
            lines[index].replacingOccurrences(of: "\\|", with: "\u{1}").dropFirst().dropLast()
                .components(separatedBy: "|").map {
                    $0.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "\u{1}", with: "|")
                }
        }
    }

    /// The blocks of code between fences.
    static func blocks(of text: String) -> [String] {
        let parts = text.components(separatedBy: "```")
        return parts.indices.filter { $0 % 2 == 1 }.map { parts[$0] }
    }

    /// The number that a cell begins with, its thousands set off by commas, in bytes where a unit follows.
    static func number(_ cell: String) -> Int? {
        guard let match = cell.firstMatch(of: /^([0-9,]+)( KiB| MiB)?/) else { return nil }
        let unit = match.output.2 == " KiB" ? 1024 : match.output.2 == " MiB" ? 1024 * 1024 : 1
        return Int(match.output.1.replacing(",", with: "")).map { $0 * unit }
    }
}

/// The bytes that hexadecimal digits stand for; what is no digit is passed over.
func bytes(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}
