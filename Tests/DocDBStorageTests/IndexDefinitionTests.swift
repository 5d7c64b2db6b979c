import DocDBCore
import DocDBQuery
import DocDBStorage
import Testing

@Suite("The definition of an index")
struct IndexDefinitionTests {
    @Test(
        "prints its canonical text, which parses back to it",
        arguments: [
            (["state", "price:desc"], "state, price desc"),
            (["price:asc"], "price"),
            (["price:DESC"], "price desc"),
            (["price desc", " make "], "price desc, make"),
            (["seller.name"], "seller.name"),
            (["a['odd key']", "tags[]"], "a.`odd key`, tags[*]"),
            (["`a, b:desc`:desc"], "`a, b:desc` desc"),
            (["`back\\`tick`"], "`back\\`tick`"),
            (["desc"], "desc"),
            (["desc desc"], "desc desc"),
            (["items[*].price", "_id:desc"], "items[*].price, _id desc"),
            (["a[0]", "a[-1]:desc"], "a[0], a[-1] desc"),
        ] as [([String], String)])
    func canonicalText(paths: [String], text: String) throws {
        let definition = try IndexDefinition(paths: paths)
        #expect(definition.text == text)
        #expect(try IndexDefinition(text: definition.text) == definition)
        #expect(try IndexDefinition(text: definition.text).components == definition.components)
    }

    @Test("tells the directions of its paths")
    func directions() throws {
        let definition = try IndexDefinition(paths: ["state", "price:desc", "year:asc"])
        #expect(definition.components.map(\.isDescending) == [false, true, false])
        #expect(definition.components.map(\.path.description) == ["state", "price", "year"])
    }

    @Test(
        "is refused with a reason where it makes no sense",
        arguments: [
            [], [""], ["price:"], ["price:down"], ["a", "a:desc"], ["_id"], ["_id:desc"], ["a[*]", "b[*]"],
            ["a[? x == 1]"], ["@.x"], ["a b"], ["a:desc:desc"], ["a,b"], ["price == 1"],
            (0...8).map { "field\($0)" },
        ] as [[String]])
    func refused(paths: [String]) {
        let error = #expect(throws: DocDBError.self) { try IndexDefinition(paths: paths) }
        #expect(error?.code == .invalidIndex)
    }

    @Test("compares by bytes, as its names do")
    func comparesByBytes() throws {
        let composed = try IndexDefinition(paths: ["`\u{E9}`"])
        let decomposed = try IndexDefinition(paths: ["`e\u{301}`"])
        #expect(composed != decomposed)
    }
}
