import Foundation

/// The titles of the project's tests, as they stand in the sources.
enum TestTitles {
    static let all: [String] = {
        let tests = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
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
}
