import DocDB

/// A car as the views show it. What its document lacks is blank: others wrote it, perhaps with another app.
struct Car {
    let id: DocumentID
    let make: String
    let model: String
    let year: String
    let owner: String

    init(_ document: Document) {
        func text(_ name: String) -> String {
            let value = document[name]
            return value?.stringValue ?? value?.intValue.map { "\($0)" } ?? ""
        }
        id = document.id
        make = text("make")
        model = text("model")
        year = text("year")
        owner = text("owner")
    }

    var title: String { [make, model, year].filter { !$0.isEmpty }.joined(separator: " ") }

    /// Whether a text names the car: by its model, or by its id.
    func isNamed(_ text: String) -> Bool { model == text || id.description == text }
}

/// What is asked of who sells a car: `Toyota Corolla 2019`.
struct NewCar {
    let make: String
    let model: String
    let year: Int64

    init(_ text: String) throws {
        let words = text.split(separator: " ")
        guard words.count >= 3, let last = words.last, let year = Int64(last), 1885...2100 ~= year else {
            throw UsageFailure(message: "a car has a make, a model and a year, such as Toyota Corolla 2019")
        }
        make = String(words[0])
        model = words[1..<(words.count - 1)].joined(separator: " ")
        self.year = year
    }
}
