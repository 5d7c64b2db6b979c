/// Numbers as people read them.
package enum Figures {
    /// A count with commas between thousands.
    package static func grouped(_ count: Int) -> String {
        var digits = Array(String(count.magnitude))
        var index = digits.count - 3
        while index > 0 {
            digits.insert(",", at: index)
            index -= 3
        }
        return (count < 0 ? "-" : "") + String(digits)
    }

    /// A count and its noun, which takes an s unless the count is one.
    package static func counted(_ count: Int, _ noun: String) -> String {
        "\(grouped(count)) \(noun)\(count == 1 ? "" : "s")"
    }

    /// Bytes in decimal units.
    package static func bytes(_ count: Int) -> String {
        if count < 1000 { return "\(count) B" }
        var value = Double(count)
        var unit = 0
        while value >= 999.95, unit < 4 {
            value /= 1000
            unit += 1
        }
        return "\(decimal(value, places: 1)) \(["B", "kB", "MB", "GB", "TB"][unit])"
    }

    /// Seconds with two decimal places.
    package static func seconds(_ seconds: Double) -> String { "\(decimal(seconds, places: 2)) s" }

    /// A finite number below 10^15 with a fixed number of decimal places, rounded to nearest.
    package static func decimal(_ value: Double, places: Int) -> String {
        var scale = 1
        for _ in 0..<places { scale *= 10 }
        let scaled = Int(min(max((value.magnitude * Double(scale)).rounded(), 0), 1e17))
        let fraction = String(scaled % scale)
        let padded = String(repeating: "0", count: max(0, places - fraction.count)) + fraction
        return (value < 0 && scaled > 0 ? "-" : "") + grouped(scaled / scale) + (places > 0 ? "." + padded : "")
    }
}
