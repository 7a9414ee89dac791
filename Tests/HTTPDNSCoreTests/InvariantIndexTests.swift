import Testing

@Suite("Every invariant and every hostile case has its test")
struct InvariantIndexTests {
    @Test("An invariant", arguments: 1...20)
    func invariant(number: Int) {
        #expect(TestTitles.all.contains { $0.contains("invariant \(number):") })
    }

    @Test("A hostile case", arguments: 1...48)
    func hostileCase(number: Int) {
        #expect(TestTitles.all.contains { $0.contains("(\(number))") })
    }
}
