/// A process that sends the requests and reports its figures.
struct Contender: Hashable {
    /// As it stands in the table.
    var name: String
    /// Its executable, beside the runner's.
    var executable: String
    /// How many other names it touches on each address beforehand.
    var otherNames = 0

    static let curl = Contender(name: "libcurl in C", executable: "bench-curl")
    static let client = Contender(name: "swift-httpdns", executable: "bench-client")
    static let asyncHTTPClient = Contender(name: "AsyncHTTPClient", executable: "bench-asynchttpclient")
    static let clientAmongNames = Contender(name: "after 5,000 x 4", executable: "bench-client", otherNames: 5000)
}
