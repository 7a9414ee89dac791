/// The same work on many elements at once, with a bound.
enum ConcurrentWork {
    /// The results in the order of the elements. The first error ends the rest.
    static func map<Element: Sendable, Result: Sendable>(
        _ elements: [Element],
        atMost bound: Int,
        _ work: @escaping @Sendable (Element) async throws -> Result
    ) async throws -> [Result] {
        try await withThrowingTaskGroup(of: (Int, Result).self) { group in
            var results: [Int: Result] = [:]
            for (index, element) in elements.enumerated() {
                if index >= bound, let (done, result) = try await group.next() { results[done] = result }
                group.addTask { (index, try await work(element)) }
            }
            for try await (index, result) in group { results[index] = result }
            return results.sorted { $0.key < $1.key }.map(\.value)
        }
    }
}
