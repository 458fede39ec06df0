"""What solvers give: rates with their proof, as tables, in folders, beside those of a reference."""
