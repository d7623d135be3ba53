"""The tools that come with the package. `shelf` knows them all; `folder` opens files, `guard` runs programs,
`addresses` judges where a request goes."""
