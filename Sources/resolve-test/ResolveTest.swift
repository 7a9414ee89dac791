@main struct ResolveTest { static func main() {} }
