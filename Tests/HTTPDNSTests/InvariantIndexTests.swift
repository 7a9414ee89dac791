import Foundation
import Testing

@Suite("Every invariant and every hostile case has its test")
struct InvariantIndexTests {
    private static let titles: [String] = {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let files = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)
        var titles: [String] = []
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift", let text = try? String(contentsOf: file, encoding: .utf8) else {
                continue
            }
            for match in text.matches(of: /@Test\(\s*"((?:[^"\\]|\\.)*)"/) { titles.append(String(match.1)) }
        }
        return titles
    }()

    @Test("an invariant", arguments: 1...20)
    func invariant(number: Int) {
        #expect(Self.titles.contains { $0.contains("invariant \(number):") })
    }

    @Test("a hostile case", arguments: 1...48)
    func hostileCase(number: Int) {
        #expect(Self.titles.contains { $0.contains("(\(number))") })
    }
}
