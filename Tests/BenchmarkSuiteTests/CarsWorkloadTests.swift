import BenchmarkSuite
import Testing

@Suite("CarsWorkload")
struct CarsWorkloadTests {
    static let workload = CarsWorkload(.full)

    @Test("the first document is the text that Python's json.dumps makes")
    func firstDocument() {
        var text: [UInt8] = []
        var generator = CarGenerator()
        generator.appendNext(to: &text)
        let expected = """
            {"_id": "car-000001", "make": "Inquiqui", "model": "Zenver-871", "state": "for sale", "price": 3696, \
            "year": 2008, "mileage": 270319, "seller": {"name": "Raloinbel Zenmivermarzen", "city": "Dellosa Fulmira"}, \
            "tags": ["orbelzenka", "inlomartho", "kasasabel"]}
            """
        #expect(String(decoding: text, as: UTF8.self) == expected)
    }

    @Test("documents, updates and read order are those of the reference generator, byte for byte")
    func fingerprints() {
        let found = Self.workload.fingerprints()
        #expect(found.texts == "8af8611a50b3d9797457730e4f7cdbc2b4227899bd03fe8e97a52b4aa6b6da70")
        #expect(found.updates == "81556e7d343effb9080d4b35e30048a191db776795d9d320b1c09ba677faeee5")
        #expect(found.readOrder == "b6cbef135ab39b8041e77eab29a5adabddff02e0d96048ef8fd37a1a7a4bf1e8")
    }

    @Test("there are 102,000 documents, 20,000 distinct updates, and every id once in the read order")
    func counts() {
        let workload = Self.workload
        #expect(workload.texts.count == 102_000)
        #expect(Set(workload.updates.map(\.position)).count == 20_000)
        #expect(workload.readOrder.sorted() == Array(0..<100_000))
        #expect(String(decoding: workload.ids[101_999], as: UTF8.self) == "car-102000")
    }
}
