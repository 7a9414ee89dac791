/// Returns the word of `words` that `text` probably meant, or nil when none is similar.
func nearestWord(to text: String, in words: [String]) -> String? {
    let simplified = Array(text.utf8.prefix(64)).map(simplify)
    let ranked = words.map { ($0, editDistance(simplified, $0.utf8.map(simplify))) }
    guard let (word, distance) = ranked.min(by: { $0.1 < $1.1 }) else { return nil }
    // A third of the word may be wrong: a higher limit leads to absurd suggestions.
    return distance <= max(1, min(word.utf8.count, simplified.count) / 3) ? word : nil
}

/// Returns the byte without differences of case and of the separators `-`, `_` and none, which are never significant here.
private func simplify(_ byte: UInt8) -> UInt8 {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
    case UInt8(ascii: "-"): UInt8(ascii: "_")
    default: byte
    }
}

/// Returns the number of letters to insert, remove, replace or swap with the next one (optimal string alignment).
private func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for (row, letter) in left.enumerated() {
        var next = [row + 1]
        for (column, other) in right.enumerated() {
            var cost = min(last[column] + (letter == other ? 0 : 1), last[column + 1] + 1, next[column] + 1)
            if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
                cost = min(cost, beforeLast[column - 1] + 1)
            }
            next.append(cost)
        }
        (beforeLast, last) = (last, next)
    }
    return last[right.count]
}
