/// A binary heap whose entries have names, so that any of them can be removed: the smallest key is first.
struct OrderedHeap<Key: Comparable & Sendable, Name: Hashable & Sendable>: Sendable {
    private var entries: [(key: Key, name: Name)] = []
    private var places: [Name: Int] = [:]

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }
    var first: (key: Key, name: Name)? { entries.first }

    /// Adds a name, or gives it another key.
    mutating func set(_ key: Key, for name: Name) {
        if let place = places[name] {
            entries[place].key = key
            sink(rise(from: place))
        } else {
            entries.append((key, name))
            places[name] = entries.count - 1
            _ = rise(from: entries.count - 1)
        }
    }

    /// Removes a name, if it is present.
    mutating func remove(_ name: Name) {
        guard let place = places.removeValue(forKey: name) else { return }
        let last = entries.removeLast()
        guard place < entries.count else { return }
        entries[place] = last
        places[last.name] = place
        sink(rise(from: place))
    }

    private mutating func rise(from start: Int) -> Int {
        var place = start
        while place > 0, entries[place].key < entries[(place - 1) / 2].key {
            swap(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
        return place
    }

    private mutating func sink(_ start: Int) {
        var place = start
        while true {
            var least = place
            for child in (2 * place + 1)...(2 * place + 2)
            where child < entries.count && entries[child].key < entries[least].key {
                least = child
            }
            if least == place { return }
            swap(place, least)
            place = least
        }
    }

    private mutating func swap(_ left: Int, _ right: Int) {
        entries.swapAt(left, right)
        places[entries[left].name] = left
        places[entries[right].name] = right
    }
}
