/// Counts how long things took, by upper bounds, as a histogram of Prometheus does.
package struct Histogram: Sendable {
    /// The upper bounds, in seconds, ascending; one more count is for what took longer.
    package let bounds: [Double]
    /// How many took at most the bound, and longer than the one before.
    package private(set) var counts: [Int]
    /// The seconds of all together.
    package private(set) var sum = 0.0

    package init(
        bounds: [Double] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    ) {
        self.bounds = bounds
        counts = [Int](repeating: 0, count: bounds.count + 1)
    }

    package mutating func add(seconds: Double) {
        counts[bounds.firstIndex { seconds <= $0 } ?? bounds.count] += 1
        sum += seconds
    }
}
