internal import Synchronization

/// A row of counters for rare events: one atomic number each.
final class CounterRow: Sendable {
    private final class Cell: Sendable {
        let value = Atomic(0)
    }

    private let cells: [Cell]

    init(_ count: Int) { cells = (0..<count).map { _ in Cell() } }

    func add(_ amount: Int, to index: Int) { cells[index].value.wrappingAdd(amount, ordering: .acquiringAndReleasing) }

    subscript(index: Int) -> Int { cells[index].value.load(ordering: .acquiring) }
}
