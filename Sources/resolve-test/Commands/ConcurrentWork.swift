/// Concurrent work on many elements, with a limit.
enum ConcurrentWork {
    /// Returns the results in the order of the elements. The first error cancels the rest.
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
